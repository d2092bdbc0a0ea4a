# Row 32 of the complaints: using Gradus leaves the project's own settings alone. remember_settings(before), then the use,
# then settings_are(before).
macro(remember_settings result)
  set(${result} "")
  foreach(name CMAKE_CXX_FLAGS CMAKE_CXX_STANDARD CMAKE_BUILD_TYPE CMAKE_CUDA_ARCHITECTURES CMAKE_CUDA_FLAGS CMAKE_MODULE_PATH
               CMAKE_PREFIX_PATH CMAKE_POSITION_INDEPENDENT_CODE BUILD_SHARED_LIBS BUILD_TESTING)
    string(APPEND ${result} "${name}=${${name}}|")
  endforeach()
  foreach(name COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_LIBRARIES)
    get_directory_property(value ${name})
    string(APPEND ${result} "${name}=${value}|")
  endforeach()
endmacro()

macro(settings_are expected)
  remember_settings(settings_now)
  if(NOT settings_now STREQUAL ${expected})
    message(FATAL_ERROR "Gradus changed the project's settings\nfrom ${${expected}}\nto   ${settings_now}")
  endif()
endmacro()
