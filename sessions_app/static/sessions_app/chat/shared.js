// Page of a shared chat: the pane with its files and long code.

import { addCodeHeads } from "./code.js";
import { make } from "./dom.js";
import { listenForPane } from "./files.js";
import { showMissingParts } from "./parts.js";

addCodeHeads(document);
listenForPane();
showMissingParts((sentence) => {
  const problem = Object.assign(make("p", "error", sentence), { role: "alert" });
  document.getElementById("main").prepend(problem);
});
