// Loaded before @stryker-mutator/mocha-runner 10.0: it looks for files of mocha without their ending, which is .cjs since 12.
const { Module } = require("node:module");

Module._extensions[".cjs"] ??= Module._extensions[".js"];
