// What files import from "bun".
const { $, file, write, spawn, spawnSync, which, env, sleep } = globalThis.Bun;
export { $, env, file, sleep, spawn, spawnSync, which, write };
export default globalThis.Bun;
