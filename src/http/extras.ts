import type { Api } from "./api.ts";
import { allocationEndpoints } from "./dialects/allocations/allocations.ts";
import { predictionEndpoints } from "./dialects/replicate/predictions.ts";
import { gatewayEndpoints } from "./gateway/gateway.ts";
import { pageEndpoints } from "./pages/pages.ts";
import type { Endpoints, RouteName } from "./routes.ts";

/** The endpoints of something that submitting, running and watching tasks do without; none where it is off. */
type Extra = (api: Api) => Partial<Endpoints<RouteName>>;

/** Each registers here in one line. */
const EXTRAS: readonly Extra[] = [gatewayEndpoints, allocationEndpoints, predictionEndpoints, pageEndpoints];

/** The endpoints of all of them. */
export function extraEndpoints(api: Api): Partial<Endpoints<RouteName>> {
  return Object.assign({}, ...EXTRAS.map((extra) => extra(api)));
}
