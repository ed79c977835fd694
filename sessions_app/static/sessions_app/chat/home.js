// List of chats: show times in the user's time zone, and forget unsent texts on sign-out.

import { forgetOnSignOut } from "./storage.js";
import { showLocalTimes } from "./times.js";

showLocalTimes(document);
forgetOnSignOut();
