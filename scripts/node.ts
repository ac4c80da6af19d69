/** `npm run node -- MAJOR COMMAND…`: runs a command under another Node, such as `npm run node -- 24 npm test -- test/engine`. */
import { execFileSync } from "node:child_process";
import { nodeFolder, runUnderNode } from "../test/shared/node-release.ts";

const [major = "", command = "node", ...args] = process.argv.slice(2);
const version = execFileSync(`${nodeFolder(major)}/node`, ["--version"], { encoding: "utf8" }).trim();
process.stdout.write(`▸ under Node ${version}\n`);
process.exitCode = await runUnderNode(major, command, args);
