import type { Inspection } from "../../engine/reading/inspect.ts";

/** A task that is followed: another one that comes to have its id was created at another time. */
export type FollowedTask = Pick<Inspection, "id" | "createdMs">;
