/** A mistake of the caller's, said in a sentence. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}
