#!/usr/bin/env node
/** The command. It is outside dist/, so that npm links it in a clone before the first build. */
import "./dist/bin.js";
