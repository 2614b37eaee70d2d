;; LineShape.follow (line-shape.ts) over sixteen bytes at a time: the lines from $at on that have the name and the labels of the line at
;; $before, whose series is $length bytes long; $bounds to $boundsEnd has where each label value begins and ends. Returns behind the last.
;; Whatever is not plain stops it: the caller looks at that line itself. follow-lines.ts has the assembled bytes (wat2wasm of wabt).
(module
  (memory (import "env" "memory") 1)
  ;; Behind the digits.
  (func $digits (param $at i32) (result i32)
    (loop $digit
      (if (i32.le_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 0x30)) (i32.const 9))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $digit))))
    (local.get $at))
  (func (export "follow")
    (param $at i32) (param $end i32) (param $before i32) (param $length i32) (param $bounds i32) (param $boundsEnd i32)
    (result i32)
    (local $base i32) (local $same i32) (local $next i32) (local $mask i32) (local $quote i32) (local $longer i32)
    (local $p i32) (local $q i32) (local $c i32) (local $value i32)
    (block $stop
      (loop $line
        (br_if $stop (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $base (local.get $before))
        (local.set $same (i32.const 0))
        (local.set $next (local.get $bounds))
        (block $equal
          (loop $part
            ;; sixteen at a time up to the first difference
            (block $differs
              (loop $compare
                (br_if $equal (i32.ge_s (local.get $same) (local.get $length)))
                (local.set $mask
                  (i8x16.bitmask
                    (i8x16.eq
                      (v128.load align=1 (i32.add (local.get $base) (local.get $same)))
                      (v128.load align=1 (i32.add (local.get $at) (local.get $same))))))
                (if (i32.eq (local.get $mask) (i32.const 0xffff))
                  (then
                    (local.set $same (i32.add (local.get $same) (i32.const 16)))
                    (br $compare)))
                (local.set $same
                  (i32.add (local.get $same) (i32.ctz (i32.xor (local.get $mask) (i32.const -1)))))
                (br $differs)))
            (br_if $equal (i32.ge_s (local.get $same) (local.get $length)))
            ;; the label value in which the difference lies
            (block $found
              (loop $bound
                (br_if $stop (i32.ge_u (local.get $next) (local.get $boundsEnd)))
                (br_if $found (i32.ge_s (i32.load offset=4 (local.get $next)) (local.get $same)))
                (local.set $next (i32.add (local.get $next) (i32.const 8)))
                (br $bound)))
            (br_if $stop (i32.lt_s (local.get $same) (i32.load (local.get $next))))
            ;; up to its quote, over plain bytes
            (local.set $quote (i32.add (local.get $at) (local.get $same)))
            (block $ended
              (loop $plain
                (local.set $c (i32.load8_u (local.get $quote)))
                (br_if $ended (i32.eq (local.get $c) (i32.const 0x22)))
                (br_if $stop (i32.lt_u (local.get $c) (i32.const 0x20)))
                (br_if $stop (i32.gt_u (local.get $c) (i32.const 0x7e)))
                (br_if $stop (i32.eq (local.get $c) (i32.const 0x5c)))
                (local.set $quote (i32.add (local.get $quote) (i32.const 1)))
                (br $plain)))
            (local.set $same (i32.sub (local.get $quote) (local.get $at)))
            (local.set $longer (i32.sub (local.get $same) (i32.load offset=4 (local.get $next))))
            (if (local.get $longer)
              (then
                (local.set $base (i32.sub (local.get $base) (local.get $longer)))
                (local.set $length (i32.add (local.get $length) (local.get $longer)))
                (local.set $p (i32.add (local.get $next) (i32.const 4)))
                (loop $shift
                  (i32.store (local.get $p) (i32.add (i32.load (local.get $p)) (local.get $longer)))
                  (local.set $p (i32.add (local.get $p) (i32.const 4)))
                  (br_if $shift (i32.lt_u (local.get $p) (local.get $boundsEnd))))))
            (local.set $next (i32.add (local.get $next) (i32.const 8)))
            (br $part)))
        ;; one blank, then a number: -1.5e+9
        (local.set $p (i32.add (local.get $at) (local.get $length)))
        (br_if $stop (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x20)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x2d))
          (then (local.set $p (i32.add (local.get $p) (i32.const 1)))))
        (local.set $value (local.get $p))
        (local.set $q (call $digits (local.get $p)))
        (br_if $stop (i32.eq (local.get $p) (local.get $q)))
        (if (i32.eq (i32.load8_u (local.get $q)) (i32.const 0x2e))
          (then
            (local.set $p (i32.add (local.get $q) (i32.const 1)))
            (local.set $q (call $digits (local.get $p)))
            (br_if $stop (i32.eq (local.get $p) (local.get $q)))))
        (if (i32.eq (i32.load8_u (local.get $q)) (i32.const 0x65))
          (then
            (local.set $p (i32.add (local.get $q) (i32.const 1)))
            (local.set $c (i32.load8_u (local.get $p)))
            (if (i32.or (i32.eq (local.get $c) (i32.const 0x2b)) (i32.eq (local.get $c) (i32.const 0x2d)))
              (then (local.set $p (i32.add (local.get $p) (i32.const 1)))))
            (local.set $q (call $digits (local.get $p)))
            (br_if $stop (i32.eq (local.get $p) (local.get $q)))
            ;; more may leave the range of a double
            (br_if $stop (i32.gt_u (i32.sub (local.get $q) (local.get $p)) (i32.const 2)))))
        (br_if $stop (i32.ne (i32.load8_u (local.get $q)) (i32.const 0x0a)))
        (br_if $stop (i32.gt_u (i32.sub (local.get $q) (local.get $value)) (i32.const 200)))
        (local.set $before (local.get $at))
        (local.set $at (i32.add (local.get $q) (i32.const 1)))
        (br $line)))
    (local.get $at)))
