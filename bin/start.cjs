// Runs any other command than those of prepared.cjs.
"use strict";
require("./check-node.cjs");
import("../dist/main.js");
