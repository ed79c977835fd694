// Times as the person's clock shows them.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

/** Puts the times in the root into the person's time zone. */
export function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not(.elapsed)")) {
    const moment = new Date(time.dateTime);
    const isToday = moment.toDateString() === new Date().toDateString();
    time.textContent = text(moment, isToday, time.dataset.format === "day");
    time.title = full.format(moment);
  }
}

/** Shows how long unfinished and finished work has taken. */
export function showElapsed(root) {
  for (const time of root.querySelectorAll("time.elapsed")) {
    const end = time.dataset.until ? new Date(time.dataset.until) : new Date();
    time.textContent = duration(Math.max(0, Math.round((end - new Date(time.dateTime)) / 1000)));
  }
}

function text(moment, isToday, wantsDay) {
  if (wantsDay) return isToday ? clock.format(moment) : day.format(moment);
  return isToday ? clock.format(moment) : `${day.format(moment)}, ${clock.format(moment)}`;
}

/** Whole seconds in words. */
export function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
