// Page with what agents know of the person: times of the person's zone.

import { forgetOnSignOut } from "./storage.js";
import { showLocalTimes } from "./times.js";

showLocalTimes(document);
forgetOnSignOut();
