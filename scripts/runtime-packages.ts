/** The packages that users run: the dependencies with their own, and those whose files are copied into `dist`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { COPIED } from "./build.ts";
import { run } from "./packed.ts";

/** The part of a CycloneDX bill of materials that matters here. */
export interface Sbom {
  readonly metadata: { readonly component: Component; readonly timestamp?: string };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly serialNumber?: string;
}

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

const DEVELOPMENT = "cdx:npm:package:development";

/**
 * The bill of materials of what users run, in CycloneDX. `npm sbom --omit=dev` would lack the packages that browsers load files of.
 * It is the same each time for the same lock.
 */
export function sbom(root: string): Sbom {
  const whole = JSON.parse(
    run("npm", ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx", "--loglevel", "error"], root),
  ) as Sbom;
  const { name, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const ref = whole.metadata.component["bom-ref"];
  const dependsOn = new Map(whole.dependencies.map((each) => [each.ref, each.dependsOn]));
  const direct = (names: readonly string[]) =>
    (dependsOn.get(ref) ?? []).filter((each) => names.includes(nameOf(each)));
  // Only the files that are built in are used of these packages.
  const used = new Set([ref, ...direct(COPIED)]);
  const add = (refs: readonly string[]) => {
    for (const each of refs) {
      used.add(each);
      add((dependsOn.get(each) ?? []).filter((other) => !used.has(other)));
    }
  };
  add(direct(Object.keys(dependencies)));
  const { timestamp: _, ...metadata } = whole.metadata;
  const { serialNumber: __, ...rest } = whole;
  return {
    ...rest,
    metadata: { ...metadata, component: { ...metadata.component, name } },
    components: whole.components
      .filter((each) => used.has(each["bom-ref"]))
      .map((each) => ({
        ...each,
        // The name of another package, if this one replaces it.
        name: nameOf(each["bom-ref"]),
        properties: each.properties.filter((property) => property.name !== DEVELOPMENT),
      })),
    dependencies: whole.dependencies
      .filter((each) => used.has(each.ref))
      .map((each) => ({ ...each, dependsOn: each.dependsOn.filter((other) => used.has(other)) })),
  };
}

function nameOf(ref: string): string {
  return ref.slice(0, ref.lastIndexOf("@"));
}
