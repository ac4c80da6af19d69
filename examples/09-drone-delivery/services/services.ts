import { type Accept, type Faults, Service } from "./service.ts";

/** The services behind a delivery, in the order in which it calls them, and what each does. */
const SERVICES = {
  /** Holds the fee on the account of whoever ordered. */
  accounts: (_id, { account }) => ({ account, heldCents: 490 }),
  /** Registers the package, with its tag. */
  packages: (id, { kg }) => ({ tag: `P-${id.slice(0, 8)}`, kg }),
  /** A carrier brings the package from the sender to the drones' hub. */
  transport: (_id, { from }) => ({ carrier: "Grey Vans", from }),
  /** Sends a drone. */
  drones: (id, { kg }) => ({ drone: `D-${id.slice(-6)}`, model: Number(kg) > 2 ? "heavy" : "light" }),
  /** Puts the delivery on the timetable, with the drone that flies it. */
  deliveries: (_id, { drone, to }) => ({ drone, to, status: "scheduled" }),
} satisfies Record<string, Accept>;

export type ServiceName = keyof typeof SERVICES;

/** All five services, each on its own port. */
export class Services {
  readonly all: readonly Service[];

  constructor(faults: Faults) {
    this.all = Object.entries(SERVICES).map(([name, accept]) => new Service(name, accept, faults));
  }

  /** Returns the environment in which the handler finds them: ACCOUNTS_URL and so on. */
  async start(): Promise<Record<string, string>> {
    const urls = await Promise.all(this.all.map((service) => service.start()));
    return Object.fromEntries(this.all.map(({ name }, n) => [`${name.toUpperCase()}_URL`, urls[n] ?? ""]));
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((service) => service.stop()));
  }
}
