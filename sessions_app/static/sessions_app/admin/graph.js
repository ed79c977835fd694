// Drawing of a workflow: dagre lays it out, and each node links to its run in the list below.

const SVG = "http://www.w3.org/2000/svg";
const MAX_TITLE = 22;
const LINE = 20;

for (const place of document.querySelectorAll(".graph-drawing")) draw(place);

async function draw(place) {
  const drawing = JSON.parse(place.previousElementSibling.textContent);
  if (!drawing.nodes.length) return;
  const { Graph, layout } = await import(place.dataset.dagre);
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 20, ranksep: 34, edgesep: 12, marginx: 6, marginy: 6 });
  for (const node of drawing.nodes) {
    const letters = Math.max(Math.min(node.title.length, MAX_TITLE), node.facts.length);
    graph.setNode(node.id, { ...node, width: 48 + 8.2 * letters, height: 50 });
  }
  for (const [from, to, route] of drawing.edges) {
    const size = { width: 7 * route.length, height: route ? LINE : 0, labelpos: "c" };
    graph.setEdge(from, to, { route, ...size }, `on ${route}`);
  }
  layout(graph);
  const { width, height } = graph.graph();
  const svg = add(null, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group" });
  svg.setAttribute("aria-label", place.parentElement.querySelector("h2").textContent);
  addArrow(svg);
  for (const edge of graph.edges()) addEdge(svg, graph.edge(edge));
  for (const id of graph.nodes()) addNode(svg, graph.node(id));
  place.append(svg);
}

function addNode(svg, { id, title, facts, state, x, y, width, height }) {
  const link = add(svg, "a", { href: `#node-${id}`, class: "graph-node", "data-state": state });
  const left = x - width / 2;
  const top = y - height / 2;
  add(link, "rect", { x: left, y: top, width, height, rx: 8 });
  add(link, "circle", { cx: left + 18, cy: y, r: 6 });
  const short = title.length > MAX_TITLE ? `${title.slice(0, MAX_TITLE - 1)}…` : title;
  add(link, "text", { x: left + 34, y: y - 4, class: "graph-title" }).textContent = `${short} `;
  add(link, "text", { x: left + 34, y: y + 14 }).textContent = facts;
}

function addEdge(svg, { points, route, x, y }) {
  const path = points.map((point, index) => `${index ? "L" : "M"}${point.x},${point.y}`).join("");
  add(svg, "path", { d: path, class: "graph-edge", "marker-end": "url(#graph-arrow)" });
  if (route) add(svg, "text", { x, y: y + 4, class: "graph-route" }).textContent = route;
}

function addArrow(svg) {
  const size = { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" };
  const arrow = add(add(svg, "defs", {}), "marker", { id: "graph-arrow", ...size });
  add(arrow, "path", { d: "M0,0L8,4L0,8z" });
}

function add(parent, tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
}
