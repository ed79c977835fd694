// Stylesheets of parts that most pages show only on request. The module of such a part waits for its own.

const loads = {};

/** Load a stylesheet, unless the page has it; its address is in the data of the root element. */
export function loadStyles(name) {
  return (loads[name] ??= load(name));
}

async function load(name) {
  const id = `${name}-styles`;
  if (document.getElementById(id)) return;
  const link = Object.assign(document.createElement("link"), { id, rel: "stylesheet" });
  link.href = document.documentElement.dataset[`${name}Styles`];
  await new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}
