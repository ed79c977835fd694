// Display of times in the user's time zone, and of durations.

import { locale, t } from "./language.js";

const clock = formatOf({ hour: "2-digit", minute: "2-digit" });
const day = formatOf({ day: "numeric", month: "short" });
const weekday = formatOf({ weekday: "short", day: "numeric", month: "short" });
const full = formatOf({ dateStyle: "full", timeStyle: "short" });
const date = formatOf({ dateStyle: "short" });

/** Show the times within `root` in the user's time zone. */
export function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not(.elapsed)")) {
    const moment = new Date(time.dateTime);
    time.textContent = formatTime(moment, time.dataset.format);
    time.title = full.format(moment);
  }
}

/** Show the elapsed time of running and finished work. */
export function showElapsed(root) {
  for (const time of root.querySelectorAll("time.elapsed")) {
    const end = time.dataset.until ? Date.parse(time.dataset.until) : Date.now();
    time.textContent = formatDuration(Math.max(0, Math.round((end - Date.parse(time.dateTime)) / 1000)));
  }
}

// In the time zone that the user has chosen, if the browser knows it.
function formatOf(parts) {
  const { timeZone } = document.documentElement.dataset;
  try {
    return new Intl.DateTimeFormat(locale, { ...parts, timeZone });
  } catch {
    return new Intl.DateTimeFormat(locale, parts);
  }
}

function formatTime(moment, format) {
  const time = clock.format(moment);
  if (date.format(moment) === date.format()) return time;
  if (format === "day") return day.format(moment);
  return `${(format === "weekday" ? weekday : day).format(moment)}, ${time}`;
}

/** Format whole seconds, such as "2 min 5 s". */
export function formatDuration(seconds) {
  if (seconds < 60) return t("{seconds} s", { seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("{minutes} min {seconds} s", { minutes, seconds: seconds % 60 });
  return t("{hours} h {minutes} min", { hours: Math.floor(minutes / 60), minutes: minutes % 60 });
}
