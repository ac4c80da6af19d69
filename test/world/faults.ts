/** What goes wrong. Each is played where it can be: some by both, some only in virtual time, some only with real processes. */
export const FAULTS = {
  crash: { by: "both", what: "an API or a worker is killed, and another one started" },
  redeployment: { by: "both", what: "SIGTERM to an API or a worker, and another one is started" },
  pause: { by: "both", what: "a worker or an API stands still, perhaps beyond its leases, and goes on" },
  "pause of the store": { by: "simulation", what: "the store stands still for seconds" },
  "cut connections": { by: "simulation", what: "requests or replies are lost with their connections" },
  "silent connections": { by: "simulation", what: "connections drop everything, and nobody closes them" },
  isolation: { by: "simulation", what: "a process cannot reach the store, not over a new connection either" },
  "step of the store's clock": { by: "simulation", what: "up to an hour forward" },
  "lost functions": { by: "simulation", what: "FUNCTION FLUSH" },
  poison: { by: "chaos", what: "a task that kills its worker each time" },
  "wrong clocks": { by: "chaos", what: "workers an hour ahead and an hour behind, the API two" },
  "crash of the store": { by: "chaos", what: "kill -9, and a restart on its AOF" },
  "read-only store": { by: "chaos", what: "READONLY for two seconds" },
  "full store": { by: "chaos", what: "maxmemory reached; a worker must start, and all must drain" },
  "planned failover": { by: "chaos", what: "FAILOVER to a replica" },
  failover: { by: "chaos", what: "the master is killed, and a replica promoted" },
  "failover that loses": { by: "chaos", what: "a replica is promoted that lacks the last second" },
  "durable failover": { by: "chaos", what: "the same with DURABILITY=replica" },
  "emptied store": { by: "chaos", what: "kill -9, and a restart without data" },
} as const;

type Faults = typeof FAULTS;
/** The names of the faults that one of the harnesses plays. */
export type FaultOf<By extends "simulation" | "chaos"> = {
  [Name in keyof Faults]: Faults[Name]["by"] extends By | "both" ? Name : never;
}[keyof Faults];
