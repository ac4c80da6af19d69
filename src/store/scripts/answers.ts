/** A call that is answered the same when it is sent again, as after a lost reply: see lua/lib/answers.lua. */
export interface Call {
  /** A word that only this call has: letters and digits. */
  readonly call: string;
}
