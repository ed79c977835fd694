// Icons of menus. They only decorate words, so screen readers skip them.

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  activity: "M3 12h4l3-8 4 16 3-8h4",
  add: "M12 5v14M5 12h14",
  archive: "M4 8v11h16V8M3 4h18v4H3zM10 12h4",
  chats: "M4 5h16v11H9l-5 4zM8 9h8M8 12h5",
  delete: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  export: "M12 4v11M7 10l5 5 5-5M5 20h14",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  keyboard: "M3 6h18v12H3zM7 10h.01M12 10h.01M17 10h.01M8 14h8",
  pin: "M12 16v5M8 3h8l-1 6 3 4v3H6v-3l3-4z",
  print: "M7 8V3h10v5M7 17H4V8h16v9h-3M7 14h10v7H7z",
  rename: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
  share: "M12 15V3M8 7l4-4 4 4M6 11H5v10h14V11h-1",
  signOut: "M10 4H5v16h5M10 12h10M16 8l4 4-4 4",
};

/** Make the icon with this name of `PATHS`. */
export function makeIcon(name) {
  const icon = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  path.setAttribute("d", PATHS[name]);
  icon.append(path);
  return icon;
}
