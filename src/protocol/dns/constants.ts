/** Numbers of the DNS wire format (RFC 1035, 3596, 6891, 9460) that the proxy acts on. */
export const RECORD_TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  SVCB: 64,
  HTTPS: 65,
  TSIG: 250,
  ANY: 255,
} as const;

export const RECORD_CLASS = { IN: 1, CHAOS: 3, ANY: 255 } as const;

export const RCODE = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const;

export const OPCODE = { QUERY: 0, NOTIFY: 4 } as const;

/** Bits of the third header byte. */
export const FLAG_QR = 0x80;
export const FLAG_AA = 0x04;
export const FLAG_TC = 0x02;
export const FLAG_RD = 0x01;
/** Bits of the fourth header byte. */
export const FLAG_CD = 0x10;
export const RCODE_MASK = 0x0f;

export const HEADER_BYTES = 12;
/** What every UDP client must be able to receive; also the limit of clients that say nothing. */
export const MIN_UDP_BYTES = 512;
/** The largest payload of an IPv4 datagram. */
export const MAX_UDP_BYTES = 65_507;
export const MAX_MESSAGE_BYTES = 65_535;
export const MAX_LABEL_BYTES = 63;
export const MAX_NAME_BYTES = 255;
/** Root owner, type, class, TTL and an empty RDATA. */
export const EMPTY_OPT_BYTES = 11;
