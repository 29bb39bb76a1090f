/** The parts of noVNC that are used. The published types are of an earlier version. */
declare module '@novnc/novnc' {
  class RFB extends EventTarget {
    constructor(target: HTMLElement, channel: WebSocket)
    scaleViewport: boolean
    background: string
    focus(): void
    disconnect(): void
    sendCtrlAltDel(): void
    /** Without `down` it presses and releases. */
    sendKey(keysym: number, code: string, down?: boolean): void
  }

  // biome-ignore lint/style/noDefaultExport: the package exports it so
  export { RFB as default }
}
