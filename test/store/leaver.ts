/** A process that leaves its store while that is away: `leaver.ts URL` has nothing to live for once the connection is lost. */
import { createLog } from "../../src/log.ts";
import { connect } from "../../src/store/connection.ts";

const connection = await connect(process.argv[2] ?? "", "test", createLog("silent"));
connection.once("reconnecting", () => setImmediate(() => connection.disconnect()));
process.stdout.write("connected\n");
