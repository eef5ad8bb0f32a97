/* What programs need that were linked against the original's other libraries: nothing but libalchemy.so.0, which this depends on. */
typedef int not_empty;
