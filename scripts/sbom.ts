/**
 * `npm run sbom`: prints the bill of materials of what users run, in CycloneDX; `npm run sbom -- FILE` writes it. `npm pack` and
 * `npm publish` put it into the package as dist/sbom.cdx.json.
 */
import { writeFileSync } from "node:fs";
import { ROOT } from "../test/shared/root.ts";
import { sbom } from "./runtime-packages.ts";

const text = `${JSON.stringify(sbom(ROOT))}\n`;
const [file] = process.argv.slice(2);
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);
