// The editors that the tests drive and no package registry for Python has: Emacs, from Debian.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const PACKAGES = ["emacs-nox", "elpa-eglot"];

/** Installs them where nobody minds, which is as root on a machine that runs the tests and nothing else. */
export function editors() {
  const installs = process.env.CI === "true" && process.getuid?.() === 0 && existsSync("/etc/debian_version");
  if (!installs || PACKAGES.every(isInstalled)) return;
  console.log(`Installing ${PACKAGES.join(" and ")}`);
  const apt = (...args) =>
    spawnSync("apt-get", args, { stdio: "ignore", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } });
  apt("update");
  const done = apt("install", "-y", "--no-install-recommends", ...PACKAGES);
  // The tests that need it say that they were skipped.
  if (done.status !== 0) console.log("  that did not work: Emacs is left out");
}

function isInstalled(name) {
  const asked = spawnSync("dpkg-query", ["-W", "-f", "${Status}", name], { encoding: "utf8" });
  return asked.status === 0 && asked.stdout.includes("ok installed");
}
