// Styles of what most pages show only when asked for. The modules that show such things import this one, and wait for it.

if (!document.getElementById("later-styles")) {
  const link = Object.assign(document.createElement("link"), { id: "later-styles", rel: "stylesheet" });
  link.href = document.documentElement.dataset.laterStyles;
  await new Promise((resolve) => {
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
}
