// Updates a live view with the HTML of server-sent events. The server has already escaped all text in the HTML.
"use strict";
(() => {
  const live = document.getElementById("live");
  if (!live || !live.dataset.events) return;
  const source = new EventSource(live.dataset.events);
  source.onmessage = (event) => {
    const told = JSON.parse(event.data);
    const opened = document.activeElement && live.contains(document.activeElement);
    if (!opened || told.last) live.innerHTML = told.markup;
    if (told.last) source.close();
  };
})();
