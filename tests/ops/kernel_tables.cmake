# kernel_tables.h in the build folder: every kernel table that kernels/*.h declare, so that a test can count all calls.
# GRADUS_KERNEL_TABLES(X) is X(name) for each. A glob, so that no header can be forgotten.
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.h)
set(includes "")
set(tables "")
foreach(header ${headers})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(READ ${header} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REPLACE ";" "@" text "${text}")  # a semicolon parts CMake's lists
  string(REGEX MATCHALL "extern [A-Za-z]*Table[^@]*@" declarations "${text}")
  foreach(declaration ${declarations})
    string(REGEX REPLACE ".*[^a-z0-9_]([a-z0-9_]+)@" "X(\\1) " table "${declaration}")
    string(APPEND tables ${table})
  endforeach()
  get_filename_component(name ${header} NAME)
  string(APPEND includes "#include <kernels/${name}>\n")
endforeach()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kernel_tables.h
     CONTENT "${includes}#define GRADUS_KERNEL_TABLES(X) ${tables}\n")
