/**
 * Elements described as plain objects, and put into the page by changing only what is different: focus, selection and scroll
 * positions survive a refresh. Text is always set as text, never read as HTML.
 */

/** @typedef {Record<string, unknown>} Props `key` tells siblings apart; `own` gets the element, whose children are then its own */
/** @typedef {{ tag: string, props: Props, children: readonly (Description | string)[] }} Description */
/** @typedef {Description | string | number | null | undefined | false | readonly Content[]} Content */

const SVG = new Set(["svg", "polyline", "path", "rect", "line", "title"]);

/** What an element was last described as. @type {WeakMap<Node, Description>} */
const described = new WeakMap();

/**
 * @param {string} tag
 * @param {Props | null} [props]
 * @param {...Content} children
 * @returns {Description}
 */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flat(children) };
}

/**
 * Makes these the children of an element.
 * @param {Element} parent
 * @param {...Content} children
 */
export function render(parent, ...children) {
  const focused = document.activeElement;
  const neighbor = neighborOf(parent, focused);
  patchChildren(parent, flat(children));
  if (!(focused instanceof HTMLElement) || focused === document.activeElement) return;
  // Moving an element takes the focus from it, and so does removing it.
  const next = focused.isConnected ? focused : neighbor();
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/**
 * What gets the focus if the element that has it leaves with its row: the same in the row that takes its place, or else the parent.
 * @param {Element} parent
 * @param {Element | null} focused
 * @returns {() => Element | null}
 */
function neighborOf(parent, focused) {
  if (focused === null || focused === parent || !parent.contains(focused)) return () => null;
  const row = focused.closest("tbody > tr");
  const body = row?.parentElement;
  if (!row || !body) return () => parent;
  const place = [...body.children].indexOf(row);
  const within = [...row.querySelectorAll("a, button")].indexOf(focused);
  return () => {
    const next = body.isConnected ? (body.children[place] ?? body.lastElementChild) : null;
    return next?.querySelectorAll("a, button")[within] ?? next?.querySelector("a, button") ?? parent;
  };
}

/**
 * @param {readonly Content[]} contents
 * @returns {(Description | string)[]}
 */
function flat(contents) {
  return contents.flatMap((content) => {
    if (content === null || content === undefined || content === false || content === "") return [];
    if (typeof content === "number") return [String(content)];
    if (typeof content === "string") return [content];
    return "tag" in content ? [content] : flat(content);
  });
}

/**
 * @param {Element} parent
 * @param {readonly (Description | string)[]} children
 */
function patchChildren(parent, children) {
  const left = [...parent.childNodes];
  const nodes = children.map((child) => {
    const at = left.findIndex((node) => fits(node, child));
    return at < 0 ? create(parent, child) : (left.splice(at, 1)[0] ?? create(parent, child));
  });
  for (const node of left) parent.removeChild(node);
  for (const [i, node] of nodes.entries()) {
    const there = parent.childNodes[i] ?? null;
    if (there !== node) parent.insertBefore(node, there);
  }
  for (const [i, node] of nodes.entries()) patch(node, children[i] ?? "");
}

/**
 * Whether a node can become what is described.
 * @param {Node} node
 * @param {Description | string} child
 */
function fits(node, child) {
  const before = described.get(node);
  if (typeof child === "string") return node instanceof Text;
  return before !== undefined && before.tag === child.tag && before.props.key === child.props.key;
}

/**
 * @param {Element} parent
 * @param {Description | string} child
 * @returns {Node}
 */
function create(parent, child) {
  if (typeof child === "string") return document.createTextNode(child);
  const isSvg = SVG.has(child.tag) && (child.tag !== "title" || parent.namespaceURI?.endsWith("svg"));
  return isSvg ? document.createElementNS("http://www.w3.org/2000/svg", child.tag) : document.createElement(child.tag);
}

/**
 * @param {Node} node
 * @param {Description | string} child
 */
function patch(node, child) {
  if (typeof child === "string") {
    if (node.nodeValue !== child) node.nodeValue = child;
    return;
  }
  if (!(node instanceof Element) || described.get(node) === child) return;
  const before = described.get(node)?.props ?? {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(child.props)])) {
    if (before[name] !== child.props[name]) set(node, name, child.props[name]);
  }
  described.set(node, child);
  const { own } = child.props;
  if (typeof own === "function") own(node);
  else patchChildren(node, child.children);
  // Its options are there only now.
  if (node instanceof HTMLSelectElement && before.value !== child.props.value) node.value = String(child.props.value);
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {unknown} value
 */
function set(element, name, value) {
  if (name === "key" || name === "own") return;
  if (name.startsWith("on") || name === "value" || name === "checked" || name === "indeterminate") {
    Reflect.set(element, name, value ?? (name.startsWith("on") ? null : ""));
  } else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}
