/**
 * Part of `npm run check`: every link in the documents leads somewhere, every path and npm script that they name exists, and every
 * document is linked in docs/README.md.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT } from "../test/shared/root.ts";
import { filesIn } from "./files.ts";

const COMPANIONS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
/** A file or folder of the checkout; in ARCHITECTURE.md, paths in src may omit that prefix. */
const PATH = /(?<![\w/.:-])((?:[\w.-]+\/)+[\w-]*(?:\.[\w-]+)*)/g;
const TOP = ["src", "test", "scripts", "bench", "docs", "examples", "clients", ".ci"];
const IN_SRC = new Set(
  readdirSync(join(ROOT, "src"), { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? [e.name] : [])),
);
/** Scripts that npm calls by itself. */
const HOOKS = ["prestart", "prepack", "prepublishOnly"];

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const markdownIn = (folder: string): string[] =>
  filesIn(join(ROOT, folder)).flatMap((file) => (file.endsWith(".md") ? [join(folder, file)] : []));

/** The links and images of a document that are not URLs. */
function linksOf(document: string): string[] {
  const text = read(document).replaceAll(/^```.*?^```/gms, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? document : join(dirname(document), path);
  if (!existsSync(join(ROOT, target))) return false;
  if (anchor === undefined || !target.endsWith(".md") || statSync(join(ROOT, target)).isDirectory()) return true;
  const headings = read(target)
    .replaceAll(/^```.*?^```/gms, "")
    .matchAll(/^#+ (.+)$/gm);
  return [...headings].some(
    ([, heading = ""]) => anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")) === anchor,
  );
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** The documents to which a document links. */
const targetsOf = (document: string): string[] =>
  linksOf(document)
    .map((link) => relative(ROOT, join(ROOT, dirname(document), link.replace(/#.*/, ""))))
    .filter((path) => path.endsWith(".md") && existsSync(join(ROOT, path)));

/** The paths in a document that do not exist. */
function absentPaths(document: string): string[] {
  // The first line of a code block may name one of the reader's files.
  const text = read(document).replaceAll(/^\/\/ \S+\.ts$/gm, "");
  return [...text.matchAll(PATH)]
    .map(([, path = ""]) => path)
    .filter((path) => {
      const [first = ""] = path.split("/");
      // Not a media type, a route or a package.
      const isOurs = TOP.includes(first) || (IN_SRC.has(first) && /\.\w+$/.test(path));
      return isOurs && !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "src", path));
    });
}

const docs = markdownIn("docs");
const linked = [
  ...COMPANIONS,
  "CHANGELOG.md",
  ...docs,
  ...markdownIn("examples"),
  ...markdownIn("clients"),
  ...markdownIn("deploy"),
];
const faults: string[] = [];
let links = 0;

for (const document of linked) {
  for (const link of linksOf(document)) {
    links += 1;
    if (!leadsSomewhere(document, link)) faults.push(`${document}: the link ${link} leads nowhere`);
  }
}
for (const document of [...COMPANIONS, ...docs]) {
  for (const path of absentPaths(document)) faults.push(`${document}: there is no ${path}`);
}

const INDEX = "docs/README.md";
const named = new Set([...targetsOf(INDEX), INDEX]);
for (const document of docs) if (!named.has(document)) faults.push(`${INDEX}: has no link to ${document}`);

const scripts = Object.keys(JSON.parse(read("package.json")).scripts);
const shown = [...read("CONTRIBUTING.md").matchAll(/`npm (?:run ([\w:]+)|(start|test)\b)/g)];
const shownScripts = new Set(shown.map(([, run, short]) => run ?? short ?? ""));
for (const name of shownScripts)
  if (!scripts.includes(name)) faults.push(`CONTRIBUTING.md: there is no npm script ${name}`);
for (const name of scripts) {
  if (!shownScripts.has(name) && !HOOKS.includes(name))
    faults.push(`CONTRIBUTING.md: does not name the npm script ${name}`);
}

for (const fault of faults) console.log(`✘ ${fault}`);
console.log(`docs: ${linked.length} documents, ${links} links, ${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
