// Style sheets of parts that are loaded when they are first needed.

const loading = new Map(); // promises by the name of their style sheet

/** Load a style sheet, named by a data attribute of the root element. Resolves when it applies or cannot be loaded. */
export function loadStyles(name) {
  if (!loading.has(name)) loading.set(name, load(document.documentElement.dataset[name]));
  return loading.get(name);
}

function load(url) {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = url;
    link.onload = resolve;
    link.onerror = resolve;
    document.head.append(link);
  });
}
