// The list of chats: times in the person's time zone.

import { showLocalTimes } from "./times.js";

showLocalTimes(document);
