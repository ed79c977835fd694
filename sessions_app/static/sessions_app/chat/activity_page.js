// Page of the activity, read again every few seconds while it is visible.

import { Inbox } from "./inbox.js";
import { readPart } from "./requests.js";
import { forgetOnSignOut } from "./storage.js";
import { showElapsed, showLocalTimes } from "./times.js";

const READ_INTERVAL = 5000;
const root = document.getElementById("inbox");
const inbox = new Inbox(root, { onChange: read });

async function read() {
  if (document.hidden) return;
  const fresh = await readPart(root.dataset.url).catch(() => null);
  if (!fresh) return;
  showLocalTimes(fresh);
  showElapsed(fresh);
  inbox.update(fresh);
}

showLocalTimes(root);
showElapsed(root);
setInterval(read, READ_INTERVAL);
document.addEventListener("visibilitychange", read);
forgetOnSignOut();
