// Home page: the list of chats, read again every 15 seconds while the page is visible.

import { refreshActivity, setUpActivity } from "./activity.js";
import { Chats } from "./chats.js";
import "./shortcuts.js";
import { forgetOnSignOut } from "./storage.js";

const READ_INTERVAL = 15000;
const chats = new Chats(document.getElementById("chats"));
// Further pages of the list have older chats, which seldom change.
if (!location.search.includes("before=")) setInterval(() => chats.refresh(), READ_INTERVAL);
setUpActivity(document.getElementById("activity"));
setInterval(refreshActivity, READ_INTERVAL);
forgetOnSignOut();
// Loaded before they are asked for: without a connection their buttons would do nothing.
import("./menu.js");
import("./panel.js");
import("./palette.js");
