/** The command in a process that reports its memory; crash-bulk.ts kills it and starts it again. */
const report = () =>
  process.send?.({
    rssBytes: process.memoryUsage.rss(),
    maxRssBytes: process.resourceUsage().maxRSS * 1024,
  });
process.channel?.unref(); // the process ends when the command does
setInterval(report, 200).unref();
process.on("exit", report);
await import("../bin.js");
