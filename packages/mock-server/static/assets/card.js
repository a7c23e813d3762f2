// Keeps the card up to date. Each request ends at once: open streams of several tabs would use up
// the browser's six connections.

const pauseMs = 2000;
const address = location.href.split("#")[0];

async function update() {
  if (document.hidden) return;
  try {
    const response = await fetch(address);
    if (!response.ok) return; // the service was restarted without this card
    const next = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of next.querySelectorAll("[data-live]")) {
      const shown = document.querySelector(`[data-live="${part.getAttribute("data-live")}"]`);
      if (shown === null || shown.innerHTML === part.innerHTML) continue;
      shown.replaceChildren(...part.childNodes);
      shown.classList.add("updated");
    }
  } catch {
    // The service does not respond: the next request follows.
  }
}

async function run() {
  await update();
  setTimeout(run, pauseMs);
}

// The wallet's page leads back to where the visitor came from, such as the page of the shop.
document.querySelector(".back")?.addEventListener("click", (event) => {
  if (document.referrer === "" || history.length === 1) return;
  event.preventDefault();
  history.back();
});

setTimeout(run, pauseMs);
document.addEventListener("visibilitychange", update);
