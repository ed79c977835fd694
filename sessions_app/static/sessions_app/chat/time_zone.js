// The time zone of the browser, kept for the server.

const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
if (timeZone) document.cookie = `adk_time_zone=${timeZone};path=/;max-age=31536000;samesite=lax`;
