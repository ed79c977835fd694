// Activity in all chats: work that waits for the person, runs or is scheduled. The server renders it for the panel.

const NEWS_DELAY = 300;
let panel = null;
let url = "";
let timer = 0;

/** Open the panel when the button is pressed. */
export function setUpActivity(button) {
  url = button.dataset.url;
  button.addEventListener("click", async () => {
    panel = await import("./panel.js");
    panel.showPanel(url, panel.ACTIVITY);
  });
}

/** Read the activity again soon, if the panel shows it. */
export function refreshActivity() {
  if (!panel) return;
  timer ||= setTimeout(() => {
    timer = 0;
    panel.refreshPanel(url);
  }, NEWS_DELAY);
}
