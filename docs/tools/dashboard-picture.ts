import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { nodeDashboard } from "hookline/dashboard";
import { chromium } from "playwright-core";
import { sample, signedDelivery } from "hookline/testing";
import { TROUBLED_SECRET, troubledReceiver } from "../../test/dashboard/troubled-receiver.ts";

// `npm run docs:dashboard`: a receiver in trouble is looked at in Chromium (Debian: apt-get install chromium), and two views of its dashboard
// are docs/pictures/dashboard-*.png.
const receiver = await troubledReceiver({ dead: 240 });
const server = createServer(
  nodeDashboard(receiver, { access: () => ({ content: true, change: true }), refreshMs: 1_000 }),
).listen(0);
const browser = await chromium.launch({
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1000, height: 640 } });

/** The page draws what waited at each of its looks: more at each of them. */
async function drawLine(): Promise<void> {
  for (const [look, more] of [0, 2, 3, 5, 3, 1, 0].entries()) {
    for (let count = 0; count < more; count += 1)
      await receiver.receive(
        signedDelivery(sample("email.updated", { id: `w-${look}-${count}` }), { secret: TROUBLED_SECRET }),
      );
    await page.waitForFunction(
      (looks) => (document.querySelector("polyline")?.getAttribute("points") ?? "").split(" ").length > looks,
      look + 1,
    );
  }
}
for (const [name, view] of [
  ["now", ""],
  ["dead", "dead"],
] as const) {
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/${view}`);
  await page.locator("main:not([aria-busy])").waitFor();
  if (name === "now") await drawLine();
  const path = join(import.meta.dirname, `../pictures/dashboard-${name}.png`);
  await page.screenshot({ path, clip: { x: 0, y: 0, width: 1000, height: name === "now" ? 640 : 360 } });
}
await browser.close();
server.close();
await receiver.close({ drainMs: 0 });
