// Home page: the list of chats, read again every 15 seconds while the page is visible.

import { Activity } from "./activity.js";
import { Chats } from "./chats.js";
import { setUpShortcuts } from "./shortcuts.js";
import { listenForStarters } from "./starters.js";
import { forgetOnSignOut } from "./storage.js";
// Without a connection their buttons would do nothing.
import "./inbox.js";
import "./menu.js";
import "./palette.js";
import "./panel.js";

const READ_INTERVAL = 15000;
const chats = new Chats(document.getElementById("chats"));
const activity = new Activity(document.getElementById("activity"));
// Further pages of the list have older chats, which seldom change.
if (!location.search.includes("before=")) setInterval(() => chats.refresh(), READ_INTERVAL);
setInterval(() => activity.refresh(), READ_INTERVAL);
setUpShortcuts();
listenForStarters(document.getElementById("apps")); // null in the archive
forgetOnSignOut();
document.getElementById("not-started")?.remove();
