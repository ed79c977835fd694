// Home page: the list of chats, and the activity in them.

import { Activity } from "./activity.js";
import { Chats } from "./chats.js";
import { followListNews } from "./list_news.js";
import { setUpShortcuts } from "./shortcuts.js";
import { listenForStarters } from "./starters.js";
import { forgetOnSignOut } from "./storage.js";
// Without a connection their buttons would do nothing.
import "./inbox.js";
import "./menu.js";
import "./palette.js";
import "./panel.js";

const chats = new Chats(document.getElementById("chats"));
const activity = new Activity(document.getElementById("activity"));
// Further pages of the list have older chats, which seldom change.
const isFirstPage = !location.search.includes("before=");
followListNews({ onSessions: () => isFirstPage && chats.refresh(), onActivity: () => activity.refresh() });
setUpShortcuts();
listenForStarters(document.getElementById("apps")); // null in the archive
forgetOnSignOut();
document.getElementById("not-started")?.remove();
