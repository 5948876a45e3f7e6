// All tests of the page, in one process: they share a browser and a server.

import "./browser.test.mjs";
import "./growth.test.mjs";
import "./link.test.mjs";
import "./local.test.mjs";
import "./page.test.mjs";
import "./player.test.mjs";
import "./world.test.mjs";
