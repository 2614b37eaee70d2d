// An old Node fails somewhere in the middle, in words that help nobody. Written so that one of them can read it.
"use strict";
var needed = [20, 19];
var found = process.versions.node.split(".").map(Number);
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  var fs = require("fs");
  var text = "pilot-agent needs Node " + needed.join(".") + " or newer; " + process.execPath + " is " + process.versions.node;
  fs.writeSync(2, text + " (PILOT_AGENT_NODE names another one)\n");
  process.exit(1);
}
