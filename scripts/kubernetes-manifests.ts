/**
 * `npm run deploy:manifests`: makes the manifests in deploy/kubernetes from the chart, with its default values, for those who do not use
 * Helm. kustomization.yaml and secret.example.yaml there are written by hand.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifests } from "../test/shared/manifests.ts";
import { ROOT } from "../test/shared/root.ts";

for (const [file, text] of Object.entries(manifests())) writeFileSync(join(ROOT, "deploy/kubernetes", file), text);
