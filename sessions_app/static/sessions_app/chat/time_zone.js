// The time zone of the browser, kept for the server.

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// Over plain HTTP, as in development, a browser refuses a secure cookie.
const secure = location.protocol === "https:" ? ";secure" : "";
if (timeZone) document.cookie = `adk_time_zone=${timeZone};path=/;max-age=31536000;samesite=lax${secure}`;
