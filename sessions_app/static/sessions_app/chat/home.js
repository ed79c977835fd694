// List of chats: show times in the user's time zone.

import { showLocalTimes } from "./times.js";

showLocalTimes(document);
