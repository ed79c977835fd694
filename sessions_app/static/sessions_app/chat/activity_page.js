// Page of the activity.

import { Inbox } from "./inbox.js";
import { followListNews } from "./list_news.js";
import { readPart } from "./requests.js";
import { forgetOnSignOut } from "./storage.js";
import { showElapsed, showLocalTimes } from "./times.js";

const root = document.getElementById("inbox");
const inbox = new Inbox(root, { read: () => readPart(root.dataset.url).then(showTimes, () => null) });

function showTimes(part) {
  showLocalTimes(part);
  showElapsed(part);
  return part;
}

showTimes(root);
followListNews({ onActivity: () => inbox.refresh() });
forgetOnSignOut();
