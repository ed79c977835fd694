// Files in the conversation: facts beside their names, and the panel with a preview or the list, loaded when asked for.

const PAUSE = 300;
let timer = 0;

/** Set up the files within `main`; `button` opens the list at `url`. */
export function setUpFiles(main, button, url) {
  button.addEventListener("click", () => openPanel(url));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-preview]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPanel(link.dataset.preview);
  });
  main.addEventListener("error", (event) => removePicture(event.target), true);
  for (const image of main.querySelectorAll(".picture img")) if (image.complete && !image.naturalWidth) removePicture(image);
  new MutationObserver(() => askForFacts(main, url)).observe(main, { childList: true, subtree: true });
  askForFacts(main, url);
}

async function openPanel(url) {
  const { showPanel } = await import("./panel.js");
  showPanel(url);
}

// A file with the name of a picture may hold something else.
function removePicture(image) {
  image.closest(".picture")?.remove();
}

function askForFacts(main, url) {
  if (timer || !main.querySelector(".file-facts:not([data-known])")) return;
  timer = setTimeout(async () => {
    timer = 0;
    const { showFacts } = await import("./file_facts.js");
    await showFacts(main, url).catch(() => {}); // sizes are missing then
  }, PAUSE);
}
