// Loaded before the server: the wall clock of its process is wrong by CLOCK_AHEAD_MS.
const aheadMs = Number(process.env.CLOCK_AHEAD_MS);
const RightDate = Date;

globalThis.Date = class extends RightDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RightDate.now() + aheadMs] : given));
  }

  static now() {
    return RightDate.now() + aheadMs;
  }
};
