// `npm start`: sets everything up and shows what GradSense finds in the examples.

import { environment, fail, run } from "./environment.mjs";

try {
  const python = await environment("run");
  process.exitCode = run(python, ["-m", "gradsense", "check", "--exit-zero", "examples"]);
} catch (error) {
  fail(error);
}
